/** Functions that are frozen when they have answered: what they record is sent before. */
import { Spoor } from 'spoor/client'

interface Order {
  readonly id: string
}

// There is no disk that lasts, so nothing is kept there.
const sending = new Spoor({ flushEach: true, spool: false })

/** As AWS Lambda calls it. It is resolved when the trace was sent, at most 5 s later. */
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

/** Where the platform has `waitUntil`, as Vercel has, the answer goes out first. */
export async function GET(request: Request, { waitUntil }: Context): Promise<Response> {
  const id = new URL(request.url).searchParams.get('id')
  const options = { input: { id }, tags: ['waitUntil'] }
  const text = await spoor.trace('order', options, () => `order ${id} is on its way`)
  waitUntil(spoor.flush())
  return new Response(text)
}
