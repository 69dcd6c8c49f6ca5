"""A wheel before it is installed."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Wheel:
    """`files` map a path below site-packages, with forward slashes, to its bytes."""

    name: str
    version: str
    platform: str
    files: dict[str, bytes] = field(default_factory=dict)
    requires: list[str] = field(default_factory=list)

    @property
    def tag(self) -> str:
        system = "win_amd64" if self.platform == "windows" else "manylinux_2_27_x86_64"
        return f"py3-none-{system}"
