/** Numbers of the advisory locks that several folders take. */

/** Held while the schema changes, and shared while it is copied. */
export const MIGRATION_LOCK = 7_310_001
/** Held by a backup, and shared by what removes files from the media store. */
export const MEDIA_REMOVAL_LOCK = 7_310_003
/** Held by a restore. */
export const RESTORE_LOCK = 7_310_004
/** Held while a paid call is booked, so that two cannot spend the same rest of a budget. */
export const VISION_BOOKS_LOCK = 7_310_005
/** Held by the process that sends batches to the vision endpoint and collects their answers. */
export const VISION_BATCHES_LOCK = 7_310_006
