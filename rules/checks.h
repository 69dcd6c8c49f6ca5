#ifndef RULES_CHECKS_H
#define RULES_CHECKS_H

/* The check functions that rules/table.c names, by the file they are in. */

struct judge;

/* check_files.c: what the bytes on disk say */
void check_file_missing(struct judge *judge);
void check_mixed_versions(struct judge *judge);
void check_header_mismatch(struct judge *judge);
void check_file_corrupt(struct judge *judge);
void check_wrong_architecture(struct judge *judge);
void check_renamed_copy(struct judge *judge);

/* check_places.c: where it lies */
void check_cuda_major_mismatch(struct judge *judge);
void check_not_on_path(struct judge *judge);
void check_inventory_incomplete(struct judge *judge);

/* check_runtime.c: what the driver and the probes answered */
void check_driver_missing(struct judge *judge);
void check_driver_error(struct judge *judge);
void check_load_failed(struct judge *judge);
void check_runtime_mismatch(struct judge *judge);
void check_probe_crashed(struct judge *judge);
void check_probe_timeout(struct judge *judge);

#endif
