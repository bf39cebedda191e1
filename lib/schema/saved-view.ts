/** Schemas of a saved view's fields, shared by the dashboard and backups. */
import Type from 'typebox'

export const ViewName = Type.String({ minLength: 1, maxLength: 80 })
/** Pages that have saved views. */
export const ViewPage = Type.Enum(['traces', 'overview', 'scores'])
/** The query string of the page's URL: empty, or starting with `?`. */
export const ViewQuery = Type.String({ maxLength: 4000 })
