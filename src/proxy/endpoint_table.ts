import type {
  Backend,
  Endpoint,
  ServiceEndpoints,
} from "../snapshot/snapshot.ts";

type ServicePort = NonNullable<Backend["service"]>;

/** The endpoints of services, which change without a new configuration; requests take them in turn. */
export class EndpointTable {
  #endpoints: ServiceEndpoints = new Map();
  #turn = 0;

  /** Makes `endpoints` those of all requests from now on. */
  replace(endpoints: ServiceEndpoints): void {
    this.#endpoints = endpoints;
  }

  /** Replaces the endpoints of some services; the others keep theirs. */
  update(changed: ServiceEndpoints): void {
    this.#endpoints = new Map([...this.#endpoints, ...changed]);
  }

  /** Returns all endpoints of a port of a service. */
  of({ name, portName }: ServicePort): readonly Endpoint[] {
    return this.#endpoints.get(name)?.get(portName) ?? [];
  }

  /** Returns the endpoint for the next request; `undefined` when there is none. */
  next(port: ServicePort): Endpoint | undefined {
    const endpoints = this.of(port);
    this.#turn = (this.#turn + 1) % Number.MAX_SAFE_INTEGER;
    return endpoints[this.#turn % endpoints.length];
  }
}
