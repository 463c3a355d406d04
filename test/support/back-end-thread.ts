/** Threads for the embedded back ends of a gateway under test. */
import { EventEmitter } from 'node:events'
import {
  type BackendThread,
  loadThread,
  type StartThread,
} from '../../packages/app/hosting/embedded.ts'
import { serveBackends, type WorkerOrder } from '../../packages/app/hosting/worker.ts'
import { worker } from './program.ts'

/** A worker thread, as outside of tests. */
export const startInOwnThread: StartThread = (input) => loadThread(worker)(input)

/** The thread of the test, which has loaded all modules; a worker would load them anew for each gateway. Only clones cross. */
export const startInThisThread: StartThread = (input) => {
  const orders: WorkerOrder[] = []
  let obey = (order: WorkerOrder): void => void orders.push(order)
  const events = new EventEmitter()
  const thread = Object.assign(events, {
    threadId: 1,
    postMessage: (order: WorkerOrder) => void setImmediate(() => obey(order)),
    // It cannot be ended from outside: only its own end counts.
    terminate: () => Promise.resolve(0),
  })
  const end = (code: number) => {
    thread.threadId = -1
    events.emit('exit', code)
  }
  serveBackends(structuredClone(input), {
    tell: (message) => void setImmediate(() => events.emit('message', structuredClone(message))),
    onOrder: (handler) => {
      obey = handler
      for (const order of orders.splice(0)) handler(order)
    },
    onClosed: () => void setImmediate(end, 0),
  }).catch((error: unknown) => {
    events.emit('error', error)
    end(1)
  })
  return thread satisfies BackendThread
}
