/** Functions of platforms that freeze the process when it has answered: what they have recorded is sent before. */
import { Spoor } from 'spoor/client'

interface Order {
  readonly id: string
}

// There is no disk that lasts, so nothing is kept there.
const sending = new Spoor({ flushEach: true, spool: false })

/** As AWS Lambda calls it: its promise is resolved when the trace has been sent, after 5 s at the latest. */
export const handler = sending.observe(
  async (order: Order) => ({ statusCode: 200, body: `order ${order.id} is on its way` }),
  { name: 'order', tags: ['lambda'] }
)

const spoor = new Spoor({ spool: false })

interface Context {
  waitUntil(promise: Promise<unknown>): void
}

/** Where the platform has `waitUntil`, as Vercel's functions do, the answer goes out first. */
export async function GET(request: Request, { waitUntil }: Context): Promise<Response> {
  const id = new URL(request.url).searchParams.get('id')
  const text = await spoor.trace('order', { input: { id }, tags: ['waitUntil'] }, () => `order ${id} is on its way`)
  waitUntil(spoor.flush())
  return new Response(text)
}
