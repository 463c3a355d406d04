/** An instance that can be killed: answers with its name, after a moment, as programs with something to do would. */
import { createServer } from 'node:http'

const [, , name, port] = process.argv
const server = createServer((request, response) => {
  if (request.url === '/health') response.end()
  else setTimeout(() => response.end(name), 2)
})
server.listen(Number(port), '127.0.0.1', () => process.stdout.write(String(server.address().port)))
