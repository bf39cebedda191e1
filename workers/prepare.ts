/** The task of the worker threads: one body at a time, pure. The main thread calls the same function for small bodies. */
export { makeReady as default } from '../lib/ingest/ready.ts'
