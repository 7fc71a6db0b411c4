import type { EmbedConfig } from '../config.ts'
import { openEmbedded } from './embedded.ts'
import type { Embedder } from './embedder.ts'
import { openTextEndpoint } from './endpoint.ts'

/** One that the settings name. */
export function openEmbedder(config: EmbedConfig): Embedder {
  return config.source === 'embedded' ? openEmbedded(config) : openTextEndpoint(config)
}
