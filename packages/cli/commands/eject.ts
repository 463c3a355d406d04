/** `fairlead eject`: gives the objects that were compiled from the app file to the user. */

import { defineCommand } from '../command.ts'
import { pathOf } from '../path-of.ts'

export const eject = defineCommand({
  name: 'eject',
  summary: 'keep the compiled pipelines and load balancers as your own',
  group: 'app',
  run: async ({ session, output, questions, connect }) => {
    const client = await connect()
    const application = session.app()
    const question = `Deployments will change the objects of ${application} no more. Eject it?`
    if (!(await questions.confirm(question))) return 1
    const { objects } = await client.post<{ objects: string[] }>(pathOf`/apps/${application}/eject`)
    output.result({ application, objects }, [`Yours now:`, ...objects.map((name) => `  ${name}`)])
    return 0
  },
})
