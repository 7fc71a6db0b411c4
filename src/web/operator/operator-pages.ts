import { Router } from 'express'
import { openActions } from '../actions.ts'
import { pageErrors } from '../page-errors.ts'
import { addAccountPages } from './accounts-page.ts'
import { addAddressActions } from './address-actions.ts'
import { addAnalyticsPage } from './analytics-page.ts'
import type { OperatorDeps } from './operator-deps.ts'
import { addReviewPages } from './review-page.ts'
import { addSystemPage } from './system-page.ts'
import { addTechniquePages } from './techniques-page.ts'
import { addUploadActions } from './upload-actions.ts'
import { addVideoActions } from './video-actions.ts'
import { addVideoPages } from './videos-page.ts'

/** `/operator` and its actions. To everyone else there is nothing. */
export function operatorRouter(deps: OperatorDeps): Router {
  const router = Router()
  const actions = openActions(deps, router)
  addVideoPages(actions, deps)
  addVideoActions(actions, deps)
  addReviewPages(actions, deps)
  addTechniquePages(actions, deps)
  addAccountPages(actions, deps)
  addAnalyticsPage(actions, deps)
  addSystemPage(actions, deps)
  addAddressActions(actions, deps)
  addUploadActions(actions, deps)
  router.use(pageErrors(deps))
  return router
}
