import React from 'react';
import { ApiError, Failure } from '../api';
import { useDoctor } from '../context';
import { fileName } from '../format';
import { plain } from '../text';
import { Button } from './Button';
import { WatchInstructions } from './WatchInstructions';
import { useSignal } from './useSignal';

export function Loading(): JSX.Element {
  const { trans } = useDoctor();
  return (
    <p className="jp-KernelDoctor-state" role="status">
      {trans.__('Reading the post-mortem…')}
    </p>
  );
}

export function Empty(): JSX.Element {
  const { trans, model, notebooks, live: feed } = useDoctor();
  useSignal(notebooks.changed);
  useSignal(feed.changed);
  const live = feed.shown;
  const { currentKernel, front } = notebooks;
  const isRecorded =
    currentKernel &&
    (model.isRecorded(currentKernel.kernel_id) ||
      (live?.kernel_id === currentKernel.kernel_id && live.is_recorded));
  if (isRecorded) {
    return (
      <p className="jp-KernelDoctor-quiet">
        {trans.__(
          'The kernel of %1 has not died. If it dies, this panel shows why, which line did it, and what to change.',
          plain(fileName(currentKernel.path))
        )}
      </p>
    );
  }
  return (
    <div className="jp-KernelDoctor-state">
      <h2>
        {front && model.cases.length > 0
          ? trans.__(
              'The kernel of %1 has not died',
              plain(fileName(front.path))
            )
          : trans.__('No kernel has died')}
      </h2>
      <p>
        {trans.__(
          'When a kernel dies, this panel shows why, which line did it, and what to change.'
        )}
      </p>
      <WatchInstructions
        intro={trans.__('To record a kernel, run this in its notebook:')}
      />
    </div>
  );
}

/** Says what failed, and what to do about it. */
export function Failed({ error }: { error: ApiError }): JSX.Element {
  const { trans, model } = useDoctor();
  const texts: Record<Failure, [string, string]> = {
    unreachable: [
      trans.__('The server does not answer'),
      trans.__(
        'Jupyter may have been stopped, or the connection is lost. Check that Jupyter is running, then try again.'
      )
    ],
    'signed-out': [
      trans.__('You are no longer signed in'),
      trans.__('Reload this page to sign in again.')
    ],
    'not-installed': [
      trans.__('Kernel Doctor is missing on the server'),
      trans.__(
        'The panel is installed, but its server extension is not running. Install jupyter-kerneldoctor in the environment that starts Jupyter, then restart Jupyter. Check with jupyter server extension list.'
      )
    ],
    deleted: [
      trans.__('This post-mortem is gone'),
      trans.__('Its recording was deleted, by you or because it was old.')
    ],
    failed: [
      trans.__('The post-mortem could not be read'),
      trans.__(
        'The server answered with an error. See its log in the terminal that runs Jupyter.'
      )
    ]
  };
  const [title, advice] = texts[error.failure];
  return (
    <div className="jp-KernelDoctor-state" role="alert">
      <h2>{title}</h2>
      <p>{advice}</p>
      {error.failure === 'failed' && <pre>{plain(error.message)}</pre>}
      {error.failure !== 'deleted' && (
        <Button onClick={() => void model.refresh()}>
          {trans.__('Try again')}
        </Button>
      )}
    </div>
  );
}
