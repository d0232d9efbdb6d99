import React from 'react';
import { useDoctor } from '../context';
import { bytes, cellName } from '../format';
import { ILive } from '../live';
import { plain } from '../text';
import { Meter } from './Meter';
import { Section } from './Section';

/** Lists what holds the memory: variables, child processes, graphics cards, other kernels. */
export function Holders({ live }: { live: ILive }): JSX.Element {
  const { trans, kernels } = useDoctor();
  const { children, gpus = [], others = [], variables } = live;
  const named = variables?.objects ?? [];
  return (
    <>
      <Section
        title={trans.__('What holds the memory')}
        aside={
          variables && (
            <small>
              {trans.__('as of %1', cellName(trans, variables.execution_count))}
            </small>
          )
        }
      >
        <ul className="jp-KernelDoctor-holders">
          {named.map((one, i) => (
            <li key={i}>
              <code title={describe(one.shape, one.items)}>
                {plain(one.name)}
              </code>
              <small>
                {plain([one.type, one.device].filter(Boolean).join(', '))}
              </small>
              <span>{bytes(one.bytes)}</span>
            </li>
          ))}
          {children && (
            <li>
              <span>
                {trans._n(
                  '%1 process it started',
                  '%1 processes it started',
                  children.count
                )}
              </span>
              <small />
              <span>
                {children.bytes === null ? '' : bytes(children.bytes)}
              </span>
            </li>
          )}
        </ul>
        {named.length === 0 && (
          <p className="jp-KernelDoctor-quiet">
            {live.loaded_by === 'server'
              ? trans.__(
                  'Variables are known by name once the notebook has run %load_ext kerneldoctor.'
                )
              : trans.__('No large variable is known.')}
          </p>
        )}
      </Section>
      {gpus.length > 0 && (
        <Section title={trans.__('Graphics cards')}>
          {gpus.map(gpu =>
            gpu.total_bytes === null || gpu.used_bytes === null ? (
              <div key={gpu.index}>
                {trans.__(
                  'GPU %1 (%2): how much of it is in use is not known',
                  gpu.index,
                  plain(gpu.name ?? '')
                )}
              </div>
            ) : (
              <div key={gpu.index}>
                {trans.__(
                  'GPU %1 (%2): %3 left of %4',
                  gpu.index,
                  plain(gpu.name ?? ''),
                  bytes(gpu.total_bytes - gpu.used_bytes),
                  bytes(gpu.total_bytes)
                )}
                <Meter
                  total={gpu.total_bytes}
                  used={gpu.used_bytes}
                  own={gpu.own_bytes ?? 0}
                  label={trans.__('Memory of GPU %1', gpu.index)}
                />
              </div>
            )
          )}
        </Section>
      )}
      {others.length > 0 && (
        <Section title={trans.__('Other kernels below this limit')}>
          <ul className="jp-KernelDoctor-holders">
            {others.map(({ kernel_id, bytes: held }) => (
              <li key={kernel_id}>
                <span>
                  {plain(
                    (kernel_id && kernels.notebookOf(kernel_id)) ||
                      trans.__('A kernel without a notebook')
                  )}
                </span>
                {kernel_id && (
                  <button
                    type="button"
                    className="jp-KernelDoctor-link"
                    onClick={() => void kernels.shutDown(kernel_id)}
                  >
                    {trans.__('Shut down')}
                  </button>
                )}
                <span>{held === null ? '' : bytes(held)}</span>
              </li>
            ))}
          </ul>
        </Section>
      )}
    </>
  );
}

function describe(shape: number[], items: number | null): string {
  return shape.length > 0
    ? shape.join(' × ')
    : items === null
      ? ''
      : items.toLocaleString();
}
