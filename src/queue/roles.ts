/**
 * What a worker process does; by default all of it. Scale `ingest` by cores and `annotate` by the model's limits. Each
 * event consumer runs in one `events` process at a time; the others stand by.
 */
export const ROLES = ['ingest', 'annotate', 'events'] as const
export type Role = (typeof ROLES)[number]
