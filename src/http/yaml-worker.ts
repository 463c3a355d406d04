/** Entry point of the thread that reads large YAML documents: takes texts, answers with JSON or with what is wrong. */
import { parentPort } from 'node:worker_threads'
import { formatJson } from './json.ts'
import { parseYaml } from './yaml.ts'

/** `problem` may reach the client. */
export type ReadYaml = { json: string } | { problem: string }

parentPort?.on('message', (text: string) => parentPort?.postMessage(readYaml(text)))

function readYaml(text: string): ReadYaml {
  try {
    return { json: formatJson(parseYaml(text)) }
  } catch (error) {
    return { problem: (error as Error).message }
  }
}
