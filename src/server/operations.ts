import { LIBRARY_ENDPOINTS, OTHER_ENDPOINTS } from '../api/endpoints.ts'
import type { Operation } from '../http/endpoint.ts'
import { TOOL_SERVER } from '../mcp/operation.ts'

/** Every operation that programs can call. Pages for people are not included. */
export const OPERATIONS: readonly Operation[] = [...LIBRARY_ENDPOINTS, ...OTHER_ENDPOINTS, TOOL_SERVER]
