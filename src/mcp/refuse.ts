import type { Request, Response } from 'express'
import { toAppError } from '../http/problem.ts'
import { chargeOnce, type LocalLimits } from '../http/rate-limit/spend.ts'
import { budgetReply, type McpReply } from './replies.ts'
import { sendReply } from './send-reply.ts'

/** Refuses a request before its message is read. It takes a point, like any refusal. */
export function refuse(limits: LocalLimits, req: Request, res: Response, reply: McpReply): void {
  try {
    chargeOnce(limits, req)
    sendReply(res, reply)
  } catch (error) {
    sendReply(res, budgetReply(null, toAppError(error)))
  }
}
