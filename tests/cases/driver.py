"""The driver of a case: the file its doubles answer from, and the device on the PCI bus."""

from __future__ import annotations

import re
from pathlib import Path

from .host import Host, Unavailable

VARIABLE = "CUDNND_TEST_DRIVER"
DOUBLES = {"windows": ("nvml.dll", "nvcuda.dll"), "linux": ("libnvidia-ml.so.1", "libcuda.so.1")}
PLACES = {"windows": "C:\\Windows\\System32", "linux": "/usr/lib/x86_64-linux-gnu"}
DISPLAY_CLASS = "{4d36e968-e325-11ce-bfc1-08002be10318}"
DEVICE_ID = "2504"


def driver_text(driver: dict) -> str:
    """The lines that tests/doubles/driver_file.h reads; a field that is null is left out."""
    values = {"version": driver["version"], "cuda": driver["cuda"], "fault": driver.get("fault"),
              "count": len(driver["gpus"])}
    for index, gpu in enumerate(driver["gpus"]):
        values[f"gpu.{index}.name"] = gpu.get("name", "NVIDIA GPU")
        values[f"gpu.{index}.uuid"] = gpu.get(
            "uuid", f"GPU-00000000-0000-4000-8000-{index:012x}")
        values[f"gpu.{index}.pci"] = gpu.get("pci_bus_id", f"00000000:{index + 1:02X}:00.0")
        values[f"gpu.{index}.compute"] = gpu.get("compute_capability", "8.6")
        values[f"gpu.{index}.memory_mib"] = gpu.get("memory_mib", 8192)
    return "".join(f"{key}={value}\n" for key, value in values.items() if value is not None)


def install_doubles(host: Host, driver: dict, directories: list[Path]) -> None:
    """Puts the doubles where the real libraries sit; on Linux with the version in their names."""
    for name in DOUBLES[host.platform]:
        source = next((folder / name for folder in directories if (folder / name).is_file()), None)
        if source is None:
            raise Unavailable(f"the driver double {name} is not built")
        place = host.tree.join(PLACES[host.platform], name)
        if host.is_windows or driver["version"] is None:
            host.tree.copy_in(place, source)
        else:
            real = name.removesuffix(".1") + "." + driver["version"]
            host.tree.copy_in(host.tree.join(PLACES["linux"], real), source)
            host.tree.link(place, real)


def has_device(description: dict) -> bool:
    return description.get("nvidia_pci", description.get("driver") is not None)


def _gpus(driver: dict | None) -> list[dict]:
    return (driver or {}).get("gpus") or [{}]


def add_linux_devices(host: Host, driver: dict | None) -> None:
    for index, gpu in enumerate(_gpus(driver)):
        match = re.search(r"([0-9a-fA-F]{4}):([0-9a-fA-F]{2}):([0-9a-fA-F]{2})\.(\d)$",
                          gpu.get("pci_bus_id") or "")
        address = match[0].lower() if match else f"0000:{index + 1:02x}:00.0"
        directory = f"/sys/bus/pci/devices/{address}"
        values = {"vendor": "0x10de", "device": f"0x{DEVICE_ID}", "class": "0x030000",
                  "subsystem_vendor": "0x1462", "subsystem_device": "0x397d"}
        for name, value in values.items():
            host.write_text(directory, name, value + "\n")


def windows_device_keys(driver: dict | None) -> dict[str, dict]:
    """What the PCI bus driver and NVIDIA's installer write for each device."""
    control = "HKLM\\SYSTEM\\CurrentControlSet"
    hardware = f"PCI\\VEN_10DE&DEV_{DEVICE_ID}"
    keys: dict[str, dict] = {}
    for index, gpu in enumerate(_gpus(driver)):
        name = gpu.get("name") or "NVIDIA GPU"
        number = f"{index + 1:04d}"
        key = (f"{control}\\Enum\\{hardware}&SUBSYS_397D1462&REV_A1\\"
               f"4&1a2b3c{index:02x}&0&0008")
        keys[key] = {
            "Class": "Display",
            "ClassGUID": DISPLAY_CLASS,
            "CompatibleIDs": [f"{hardware}&REV_A1", hardware, "PCI\\VEN_10DE&CC_030000",
                              "PCI\\VEN_10DE&CC_0300", "PCI\\VEN_10DE", "PCI\\CC_030000",
                              "PCI\\CC_0300"],
            "ConfigFlags": 0,
            "DeviceDesc": name if driver else "Microsoft Basic Display Adapter",
            "Driver": f"{DISPLAY_CLASS}\\{number}",
            "HardwareID": [f"{hardware}&SUBSYS_397D1462&REV_A1", f"{hardware}&SUBSYS_397D1462",
                           f"{hardware}&CC_030000", f"{hardware}&CC_0300"],
            "LocationInformation": f"PCI bus {index + 1}, device 0, function 0",
            "Mfg": "NVIDIA" if driver else "(Standard display types)",
            "Service": "nvlddmkm" if driver else "BasicDisplay",
        }
        if driver and driver["version"]:
            keys[f"{control}\\Control\\Class\\{DISPLAY_CLASS}\\{number}"] = {
                "DriverDesc": name,
                "DriverVersion": windows_driver_version(driver["version"]),
                "ProviderName": "NVIDIA",
                "MatchingDeviceId": hardware,
            }
    return keys


def windows_driver_version(version: str) -> str:
    """'560.94' -> '32.0.15.6094': Windows' number ends with NVIDIA's five digits."""
    digits = version.replace(".", "")[:5].ljust(5, "0")
    return f"32.0.1{digits[0]}.{digits[1:]}"
