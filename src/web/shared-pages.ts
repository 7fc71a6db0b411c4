import type { Request, Response } from 'express'
import { contextOf } from '../http/edge.ts'
import type { LocalLimits } from '../http/rate-limit/rate-limits.ts'
import { CompressibleBody } from '../http/response-body.ts'
import { keptOrInTurn, type TakeTurn, type VersionedCache } from '../http/versioned-cache.ts'
import type { Assets } from './assets.ts'
import { setPageCache, type ViewerOf } from './guard.ts'
import { layout, type Page, sendPage, type Viewer } from './layout.ts'

interface SharedPagesDeps {
  limits: LocalLimits
  assets: Assets
  viewerOf: ViewerOf
  kept: VersionedCache<object>
  takeTurn: TakeTurn
  publicUrl: string
}

/** A page that all readers of a kind share. */
interface SharedPage {
  /** Names the page and everything that it depends on besides the read model and the viewer. */
  key: string
  /** Points beyond the route's own when the page is not in memory. */
  coldPoints?: number
  render(viewer: Viewer): Promise<Omit<Page, 'viewer' | 'account' | 'formToken'>>
}

export interface SharedPages {
  /** Sends a page from memory, or renders it once for all who wait. A page is kept until the read model changes. */
  send(req: Request, res: Response, page: SharedPage): Promise<void>
}

export function openSharedPages(deps: SharedPagesDeps): SharedPages {
  const { assets, viewerOf, kept, takeTurn, limits, publicUrl } = deps
  return {
    async send(req, res, { key, coldPoints = 0, render }) {
      const viewer = await viewerOf(req)
      const name = `page ${viewer} ${key}`
      if (coldPoints > 0 && !kept.isKept(name, await kept.version()))
        limits.consumeLocally('anonymous', contextOf(req).address, coldPoints)
      const asked = { key: name, subject: contextOf(req).address }
      const { value: page } = await keptOrInTurn({ kept, takeTurn }, asked, async () => {
        const parts = await render(viewer)
        return new CompressibleBody(layout(assets, { ...parts, viewer }))
      })
      setPageCache(res, viewer)
      await sendPage(res, { publicUrl, page, viewer })
    },
  }
}
