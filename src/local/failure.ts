/** PostgreSQL or Redis cannot run on this machine. The message is one line and says what to do. */
export class LocalFailure extends Error {}
