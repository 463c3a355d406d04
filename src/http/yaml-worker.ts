/** Worker thread that parses large YAML documents. */
import { parentPort } from 'node:worker_threads'
import { formatJson, UnsafeJsonError } from '../json/json.ts'
import { parseYaml } from './yaml.ts'

export interface YamlDocument {
  text: string
  maxValues: number
}

/** `problem` may reach the client; `code` where the document is well-formed and too large. */
export type ReadYaml = { json: string } | { problem: string; code?: UnsafeJsonError['code'] }

parentPort?.on('message', (document: YamlDocument) => parentPort?.postMessage(readYaml(document)))

function readYaml({ text, maxValues }: YamlDocument): ReadYaml {
  try {
    return { json: formatJson(parseYaml(text, maxValues)) }
  } catch (error) {
    const problem = (error as Error).message
    return error instanceof UnsafeJsonError ? { problem, code: error.code } : { problem }
  }
}
