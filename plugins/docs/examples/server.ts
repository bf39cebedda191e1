/** A server with Express: a request is a trace, part of the caller's if it names one, and its readers judge the answer. */
import express, { type RequestHandler } from 'express'
import { Spoor } from 'spoor/client'

const spoor = new Spoor()

/** What a handler does behind this, while its request lasts, are steps of the request's trace. */
function traced(name: string): RequestHandler {
  return (request, response, next) => {
    const { body: input, headers } = request
    const options = { ...spoor.fromHeaders(headers), input, userId: request.header('x-user') }
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
  spoor.score(request.params.traceId, 'helpful', request.body.helpful === true, { comment: request.body.comment })
  response.status(202).end()
})

const port = Number(process.env.PORT ?? 3000)
const server = app.listen(port, () => console.log(`listening on port ${port}`))
// What is recorded is sent when the process ends, or kept on disk for the next start.
process.once('SIGTERM', () => server.close())
