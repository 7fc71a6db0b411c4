/** What a worker process does; all of it unless told. Scale `ingest` by cores and `annotate` by the model's limits; of `events` one is active at a time. */
export const ROLES = ['ingest', 'annotate', 'events'] as const
export type Role = (typeof ROLES)[number]
