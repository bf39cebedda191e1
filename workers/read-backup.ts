/** The thread that reads a backup for a restore. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { sendLines } from '../lib/moving/backup/sent-lines.ts'

await sendLines(parentPort as MessagePort, workerData)
