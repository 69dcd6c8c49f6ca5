#ifndef SERVICE_BUILD_INFO_H
#define SERVICE_BUILD_INFO_H

/* What was built: "0.1.0" and the revision it was built from ("unknown" outside a checkout). */

extern const char build_version[];
extern const char build_revision[];

#endif
