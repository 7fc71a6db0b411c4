/* The process that `extractInChild` starts. */
import { answerParent } from '../../processes/child.ts'
import type { Extraction } from './extract.ts'
import type { ExtractionProgress, ExtractionRequest } from './run-extraction.ts'

answerParent<ExtractionRequest, Extraction, ExtractionProgress>(async () => {
  const { extractVideo } = await import('./extract.ts')
  const { signal } = new AbortController()
  return (request, onProgress) => extractVideo({ ...request, signal, onProgress })
})
