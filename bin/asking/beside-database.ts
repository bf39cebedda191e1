/** Calls the routes in this process, directly on a database and without a server. */
import { requireProject } from '../../lib/admin/projects.ts'
import { Refusal } from '../../lib/errors.ts'
import { type LocalRoutes, openRoutes } from '../../lib/service.ts'
import { noteSystemUser } from '../../lib/store/audit.ts'
import type { DatabaseSession } from '../database.ts'
import type { Asker, HttpMethod } from './asker.ts'
import { explainRejection } from './failure.ts'

export class DatabaseAsker implements Asker {
  readonly #routes: LocalRoutes
  readonly #location: string

  private constructor(routes: LocalRoutes, location: string) {
    this.#routes = routes
    this.#location = location
  }

  static async open({ config, database, log, sql, systemUser }: DatabaseSession, slug: string): Promise<DatabaseAsker> {
    const projectId = await requireProject(sql, slug)
    const routes = await openRoutes(config, log, database, {
      projectId,
      onWriter: each => noteSystemUser(each, systemUser)
    })
    return new DatabaseAsker(routes, database.location)
  }

  async ask(method: HttpMethod, path: string, body?: object): Promise<string> {
    try {
      return await this.#routes.call(method, path, body)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      throw explainRejection(error, this.#location, 'this command')
    }
  }

  close(): Promise<void> {
    return this.#routes.close()
  }
}
