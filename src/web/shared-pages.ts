import type { Request, Response } from 'express'
import { contextOf } from '../http/edge.ts'
import { CompressibleBody } from '../http/response-body.ts'
import type { TakeTurn } from '../http/search-concurrency.ts'
import type { VersionedCache } from '../http/versioned-cache.ts'
import type { Assets } from './assets.ts'
import { setPageCache, type ViewerOf } from './guard.ts'
import { layout, type Page, sendPage, type Viewer } from './layout.ts'

interface SharedPagesDeps {
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
  render(viewer: Viewer): Promise<Omit<Page, 'viewer' | 'account' | 'formToken'>>
}

export interface SharedPages {
  /** Sends a page from memory, or renders it once for all who wait. A page is kept until the read model changes. */
  send(req: Request, res: Response, page: SharedPage): Promise<void>
}

export function openSharedPages({ assets, viewerOf, kept, takeTurn, publicUrl }: SharedPagesDeps): SharedPages {
  return {
    async send(req, res, { key, render }) {
      const viewer = await viewerOf(req)
      const { value: page } = await kept.getOrLoad(`page ${viewer} ${key}`, () =>
        takeTurn(contextOf(req).address, async () => {
          const parts = await render(viewer)
          return new CompressibleBody(layout(assets, { ...parts, viewer }))
        }),
      )
      setPageCache(res, viewer)
      await sendPage(res, { publicUrl, page, viewer })
    },
  }
}
