import type { Request, Response } from 'express'
import { CompressibleBody } from '../http/compressed-body.ts'
import { contextOf } from '../http/edge.ts'
import type { ReadModelVersion } from '../http/read-model-version.ts'
import type { TakeTurn } from '../http/turns.ts'
import { openVersionedCache } from '../http/versioned-cache.ts'
import type { Assets } from './assets.ts'
import { setPageCache, type ViewerOf } from './guard.ts'
import { layout, type Page, sendPage, type Viewer } from './layout.ts'

interface SharedPagesDeps {
  assets: Assets
  viewerOf: ViewerOf
  readModel: ReadModelVersion
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

const MAX_BYTES = 16 * 1024 * 1024

export function openSharedPages({ assets, viewerOf, readModel, takeTurn, publicUrl }: SharedPagesDeps): SharedPages {
  const kept = openVersionedCache<CompressibleBody>({
    readModel,
    maxBytes: MAX_BYTES,
    // Twice the body: its compressed forms are kept beside it.
    sizeOf: ({ bytes }) => bytes.length * 2,
  })
  return {
    async send(req, res, { key, render }) {
      const viewer = await viewerOf(req)
      const { value: page } = await kept.getOrLoad(`${viewer} ${key}`, () =>
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
