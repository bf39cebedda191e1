/** Platforms without files and without a signal at the end. Applications call `flush` or use `flushEach`. */
import type node from '../node/storage.ts'

const storage: typeof node = {
  onEnding: () => () => {},
  open: () => undefined,
  look: async () => ({ taken: 0, isAgain: false })
}
export default storage
