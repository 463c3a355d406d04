/** A program without dependencies: it says its version and which instance answers, and stops when it is told to. */
import { createServer } from 'node:http'

const version = 2
const server = createServer((_request, response) => {
  response.end(`Hello from version ${version}, port ${process.env.PORT}.\n`)
})
server.listen(Number(process.env.PORT), process.env.HOST)
process.on('SIGTERM', () => server.close())
