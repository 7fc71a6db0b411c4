import { z } from 'zod'
import { cachedRead } from '../http/endpoint.ts'
import { Brand, toBrand } from '../views/resources.ts'
import { afterParameter, listLimit, type ReadDeps } from './library-read.ts'
import { nextCursor } from './paging.ts'

export const brandEndpoints = [
  cachedRead(
    {
      id: 'listBrands',
      path: '/api/brands',
      tag: 'Library',
      summary: 'Brands and channels by name',
      parameters: { after: afterParameter, limit: listLimit(60, 120) },
      answer: z.strictObject({ brands: z.array(Brand), next: nextCursor }).meta({ id: 'BrandsResponse' }),
    },
    async ({ search, publicUrl }: ReadDeps, { query: { after, limit = 60 } }) => {
      const { items, next } = await search.brands({ after, limit })
      return { brands: items.map((document) => toBrand(document, publicUrl)), next }
    },
  ),
]
