/** Reads the whole body inside the call, so that its deadline covers the body too. Refuses a body without end. */
export function boundedFetch(inner: typeof fetch, maxBytes: number): typeof fetch {
  return async (input, init) => {
    const response = await inner(input, { ...init, redirect: 'error' })
    const chunks: Uint8Array[] = []
    let size = 0
    for await (const chunk of response.body ?? []) {
      size += chunk.length
      // Leaving the loop cancels the stream.
      if (size > maxBytes) throw new Error(`the answer is larger than ${maxBytes} bytes`)
      chunks.push(chunk)
    }
    const { status, statusText } = response
    const headers = new Headers(response.headers)
    headers.delete('content-encoding')
    headers.delete('content-length')
    return new Response(toBody(status, Buffer.concat(chunks)), { status, statusText, headers })
  }
}

function toBody(status: number, body: Buffer<ArrayBuffer>): Buffer<ArrayBuffer> | string | null {
  if (status === 204 || status === 205 || status === 304) return null
  return status >= 400 ? unwrapError(body) : body
}

/** Gemini wraps an error into a list, which the client does not understand. */
function unwrapError(body: Buffer<ArrayBuffer>): Buffer<ArrayBuffer> | string {
  try {
    const value: unknown = JSON.parse(body.toString())
    return Array.isArray(value) && value.length > 0 ? JSON.stringify(value[0]) : body
  } catch {
    return body
  }
}
