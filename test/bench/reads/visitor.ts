/** Signs in, because only people can read the dashboard's numbers. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { PROGRAM, type Service } from '../machine/service.ts'

/** Signs the owner in. Returns the header of the owner's session. */
export async function signIn({ port, dataDir }: Service): Promise<string> {
  const env = { ...process.env, DATA_DIR: dataDir }
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, 'user', 'link', 'owner', '--json'], { env })
  const { link }: { link: string } = JSON.parse(stdout)
  const answer = await fetch(`http://127.0.0.1:${port}/app/api/sign-in/link`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
    body: JSON.stringify({ token: link.slice(link.indexOf('#') + 1) })
  })
  const [cookie] = answer.headers.getSetCookie()
  if (cookie === undefined) throw new Error(`nobody can sign in: ${answer.status} ${await answer.text()}`)
  return `Cookie: ${cookie.split(';')[0]}`
}
