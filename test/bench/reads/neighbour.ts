/**
 * A small project in the same tables as the large project. The cost of its requests must not depend on the large
 * project.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { readFreeNumber } from '../copy/tables.ts'
import { keepKey, PROGRAM, type Service } from '../machine/service.ts'
import { addProject, isFilled } from './fill.ts'

const NAME = 'neighbour'
const TRACES = 10_000

export interface Neighbour {
  readonly projectId: number
  readonly key: string
}

/** Creates the project unless an earlier run created it. */
export async function openNeighbour({ sql, folder, dataDir }: Service): Promise<Neighbour> {
  const spoor = async (...parameters: string[]) => {
    const env = { ...process.env, DATA_DIR: dataDir }
    const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, ...parameters, '--json'], { env })
    return JSON.parse(stdout)
  }
  const find = () => sql<{ id: number }[]>`select id from projects where slug = ${NAME}`
  const isNew = (await find()).length === 0
  if (isNew) await spoor('project', 'create', NAME)
  const told: string | null = isNew ? (await spoor('key', 'create', '--project', NAME)).key : null
  const key = await keepKey(join(folder, `${NAME}-key`), told)
  const projectId = (await find())[0]!.id
  if (!(await isFilled(sql, projectId))) {
    await addProject(sql, { projectId, traces: TRACES, firstNumber: await readFreeNumber(sql) })
  }
  return { projectId, key }
}
