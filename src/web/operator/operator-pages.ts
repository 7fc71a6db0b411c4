import type { Routes } from '../../http/routes.ts'
import { actionRouter } from '../actions.ts'
import type { PageDeps } from '../page-deps.ts'
import { addAccountPages } from './accounts-page.ts'
import { addAddressActions } from './address-actions.ts'
import { addAnalyticsPage } from './analytics-page.ts'
import { addReviewPages } from './review-page.ts'
import { addSystemPage } from './system-page.ts'
import { addTechniquePages } from './techniques-page.ts'
import { addUploadActions } from './upload-actions.ts'
import { addVideoActions } from './video-actions.ts'
import { addVideoPages } from './videos-page.ts'

/** `/operator` and its actions. To everyone else there is nothing. */
export function operatorRouter(deps: PageDeps): Routes {
  return actionRouter(
    deps,
    addVideoPages,
    addVideoActions,
    addReviewPages,
    addTechniquePages,
    addAccountPages,
    addAnalyticsPage,
    addSystemPage,
    addAddressActions,
    addUploadActions,
  )
}
