/**
 * A server with Express: a request is a trace, part of the caller's if it names one.
 * Its readers judge the answer.
 */
import express, { type RequestHandler } from 'express'
import { Spoor } from 'spoor/client'

const spoor = new Spoor()

/** What handlers do behind this, while the request lasts, are steps of its trace. */
function traced(name: string): RequestHandler {
  return (request, response, next) => {
    const parent = spoor.fromHeaders(request.headers)
    const options = { ...parent, input: request.body, userId: request.header('x-user') }
    void spoor.trace(name, options, async trace => {
      response.set('x-trace-id', trace.traceId)
      next()
      await new Promise(resolve => response.once('close', resolve))
      trace.setMetadata({ statusCode: response.statusCode })
      if (response.statusCode >= 500) trace.setStatus('error')
    })
  }
}

const answer = spoor.observe(
  async (question: string) => {
    if (question === '') throw new Error('there is no question')
    return `You asked: ${question}`
  },
  { name: 'answer', kind: 'agent' }
)

const app = express()
app.use(express.json())

app.post('/questions', traced('question'), async (request, response) => {
  const text = await answer(request.body.question)
  spoor.current()?.setOutput(text)
  response.json({ text })
})

app.post('/feedback/:traceId', (request, response) => {
  // It is sent by and by, as traces are: the reader does not wait for it.
  const { helpful, comment } = request.body
  spoor.score(request.params.traceId, 'helpful', helpful === true, { comment })
  response.status(202).end()
})

const port = Number(process.env.PORT ?? 3000)
const server = app.listen(port, () => console.log(`listening on port ${port}`))
// What is recorded is sent when the process ends, or kept on disk for the next start.
process.once('SIGTERM', () => server.close())
