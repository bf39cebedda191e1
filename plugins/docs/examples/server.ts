/**
 * An Express server. Each request is a trace, which joins the caller's trace if the
 * headers name one. Readers can score an answer.
 */
import express, { type RequestHandler } from 'express'
import { Spoor } from 'spoor-client'

const spoor = new Spoor()

/** Later handlers run inside the trace until the response closes. */
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
  // The client sends the score in the background, so the reader does not wait.
  const { helpful, comment } = request.body
  spoor.score(request.params.traceId, 'helpful', helpful === true, { comment })
  response.status(202).end()
})

const port = Number(process.env.PORT ?? 3000)
const server = app.listen(port, () => console.log(`listening on port ${port}`))
// When the process ends, the client sends its traces or keeps them on disk.
process.once('SIGTERM', () => server.close())
