/** A local part cannot run here. The message is one line for the person at the terminal and says what to do. */
export class LocalFailure extends Error {}
