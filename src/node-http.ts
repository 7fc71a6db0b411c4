import { createRequire } from 'node:module'

/**
 * Node's HTTP server, by `require`. An import as an ES module reads every export. One of them, WebSocket, loads the
 * client behind `fetch`: 14 MB of a process that starts.
 */
export const { createServer, STATUS_CODES } = createRequire(import.meta.url)('node:http') as typeof import('node:http')
