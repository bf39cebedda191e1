/**
 * Serverless functions. The platform freezes them when they finish, so they send their
 * traces first.
 */
import { Spoor } from 'spoor-client'

interface Order {
  readonly id: string
}

// The functions have no durable disk, so the spool is off.
const sending = new Spoor({ flushEach: true, spool: false })

/** A handler for AWS Lambda. It resolves when its trace is sent, after 5 s at most. */
export const handler = sending.observe(
  async (order: Order) => ({
    statusCode: 200,
    body: `order ${order.id} is on its way`
  }),
  { name: 'order', tags: ['lambda'] }
)

const spoor = new Spoor({ spool: false })

interface Context {
  waitUntil(promise: Promise<unknown>): void
}

/** On platforms with `waitUntil`, such as Vercel, the response is sent first. */
export async function GET(request: Request, { waitUntil }: Context): Promise<Response> {
  const id = new URL(request.url).searchParams.get('id')
  const options = { input: { id }, tags: ['waitUntil'] }
  const text = await spoor.trace('order', options, () => `order ${id} is on its way`)
  waitUntil(spoor.flush())
  return new Response(text)
}
