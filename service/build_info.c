#include "service/build_info.h"

const char build_version[] = CUDNND_VERSION;
const char build_revision[] = CUDNND_REVISION;
