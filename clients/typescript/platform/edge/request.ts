/** Requests by the platform's `fetch`, which keeps its own connections. */
import type { Wire } from '../types.ts'

export default function (): Wire {
  return {
    async send({ url, method, headers, body, signal }) {
      const response = await fetch(url, {
        method,
        headers,
        signal,
        redirect: 'manual',
        ...(body !== undefined && { body })
      })
      const retryAfter = response.headers.get('retry-after') ?? undefined
      return { status: response.status, text: await response.text(), retryAfter }
    },
    close() {}
  }
}
