/** The fields of a saved view, as the dashboard takes them and a backup has them. */
import Type from 'typebox'

export const ViewName = Type.String({ minLength: 1, maxLength: 80 })
/** The pages that have views. */
export const ViewPage = Type.Enum(['traces', 'overview', 'scores'])
/** The search of the page's address: empty, or from its `?`. */
export const ViewQuery = Type.String({ maxLength: 4000 })
