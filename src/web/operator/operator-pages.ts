import { Router } from 'express'
import { openActions } from '../actions.ts'
import { pageErrors } from '../page-errors.ts'
import { addAddressActions } from './address-actions.ts'
import type { OperatorDeps } from './operator-deps.ts'
import { addUploadActions } from './upload-actions.ts'

/** `/operator` and its actions. To everyone else there is nothing. */
export function operatorRouter(deps: OperatorDeps): Router {
  const router = Router()
  const actions = openActions(deps, router)
  addAddressActions(actions, deps)
  addUploadActions(actions, deps)
  router.use(pageErrors(deps))
  return router
}
