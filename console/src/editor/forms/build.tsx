/** The form of stages that run a job of a build server. */
import { F, Fold, useForm } from './form.tsx'

export const buildFields = ['master', 'job', 'parameters', 'waitForCompletion', 'propertyFile', 'markUnstableAsSuccessful']

export function BuildForm() {
  const { holder } = useForm()
  return (
    <>
      <F name="master" label="Build server" help="“local” builds on the machine of Fairlead." />
      <F
        name="job"
        label="Job"
        help={holder['master'] === undefined ? 'Choose the build server first.' : 'Search by a part of its name.'}
      />
      <F name="parameters" label="Parameters" help="Values for the job." />
      <Fold title="Wait for its end, and outputs">
        <F name="waitForCompletion" label="Wait for its end" help="Otherwise the stage ends once the build is queued." />
        <F
          name="propertyFile"
          label="File with outputs"
          placeholder="build.properties"
          help="A file that the build archives. Expressions read its values."
        />
        <F name="markUnstableAsSuccessful" label="Accept failed tests" help="An unstable build counts as a success." />
      </Fold>
    </>
  )
}
