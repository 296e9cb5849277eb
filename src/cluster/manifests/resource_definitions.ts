import { POLICY_API_GROUP } from "../../api/schema/group.ts";
import type * as s from "../../api/schema/schema.ts";
import { toJsonDefinitions } from "../../api/schema/json_schema.ts";
import {
  type StructuralSchema,
  toStructuralSchema,
} from "./structural_schema.ts";

/** Kinds of the gateway's own. */
type DefinedKind =
  | "GatewayPolicy"
  | "GatewayBackend"
  | "GatewayKey"
  | "GatewayUser"
  | "GatewayTeam";

interface Definition {
  readonly kind: DefinedKind;
  readonly plural: string;
  readonly shortNames: readonly string[];
  readonly description: string;
  readonly columns: readonly object[];
  /** Default: that of policies. */
  readonly status?: object;
}

const age = {
  name: "Age",
  type: "date",
  jsonPath: ".metadata.creationTimestamp",
};

function conditionColumn(type: string) {
  return {
    name: type,
    type: "string",
    jsonPath: `.status.ancestors[0].conditions[?(@.type=="${type}")].status`,
  };
}

const condition = {
  type: "object",
  required: [
    "type",
    "status",
    "reason",
    "message",
    "lastTransitionTime",
  ],
  properties: {
    type: { type: "string", maxLength: 316 },
    status: { type: "string", enum: ["True", "False", "Unknown"] },
    reason: { type: "string", maxLength: 1024, minLength: 1 },
    message: { type: "string", maxLength: 32768 },
    observedGeneration: { type: "integer", format: "int64", minimum: 0 },
    lastTransitionTime: { type: "string", format: "date-time" },
  },
};

const conditions = {
  type: "array",
  maxItems: 8,
  items: condition,
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": ["type"],
};

/** Status of keys, users and teams. */
const keyStatus = {
  type: "object",
  properties: {
    id: {
      type: "string",
      description: "ID in the store, in usage and in expressions.",
    },
    conditions,
  },
};

const keyColumns = [
  {
    name: "Accepted",
    type: "string",
    jsonPath: '.status.conditions[?(@.type=="Accepted")].status',
  },
  { name: "ID", type: "string", jsonPath: ".status.id" },
  age,
];
const teamColumn = { name: "Team", type: "string", jsonPath: ".spec.team" };

const definitions: readonly Definition[] = [
  {
    kind: "GatewayPolicy",
    plural: "gatewaypolicies",
    shortNames: ["gwpol"],
    description: "Policies for the requests of gateways, routes and backends.",
    columns: [
      {
        name: "Target",
        type: "string",
        jsonPath: ".spec.targetRefs[0].name",
      },
      conditionColumn("Accepted"),
      conditionColumn("Attached"),
      age,
    ],
  },
  {
    kind: "GatewayBackend",
    plural: "gatewaybackends",
    shortNames: ["gwbe"],
    description: "A destination of requests outside the cluster, or in it.",
    columns: [
      { name: "Host", type: "string", jsonPath: ".spec.static.host" },
      { name: "Port", type: "integer", jsonPath: ".spec.static.port" },
      age,
    ],
  },
  {
    kind: "GatewayTeam",
    plural: "gatewayteams",
    shortNames: ["gwteam"],
    description: "A team that users and API keys belong to.",
    columns: keyColumns,
    status: keyStatus,
  },
  {
    kind: "GatewayUser",
    plural: "gatewayusers",
    shortNames: ["gwuser"],
    description: "A user whom API keys belong to.",
    columns: [teamColumn, ...keyColumns],
    status: keyStatus,
  },
  {
    kind: "GatewayKey",
    plural: "gatewaykeys",
    shortNames: ["gwkey"],
    description: "An API key, which a Secret has.",
    columns: [teamColumn, ...keyColumns],
    status: keyStatus,
  },
];

/** Gateway API `PolicyStatus`. */
const policyStatus = {
  type: "object",
  properties: {
    ancestors: {
      type: "array",
      maxItems: 16,
      items: {
        type: "object",
        required: ["ancestorRef", "controllerName"],
        properties: {
          ancestorRef: {
            type: "object",
            required: ["name"],
            properties: Object.fromEntries(
              ["group", "kind", "namespace", "name", "sectionName"].map((
                name,
              ) => [name, { type: "string" }]),
            ),
          },
          controllerName: { type: "string" },
          conditions,
        },
      },
    },
  },
};

/** Creates the CustomResourceDefinitions of the gateway's own kinds. Loads the converter of schemas. */
export async function createResourceDefinitions(
  schemas: Readonly<Record<DefinedKind, s.GenericSchema>>,
): Promise<readonly object[]> {
  const converted = await toJsonDefinitions(
    Object.fromEntries(definitions.map(({ kind }) => [kind, schemas[kind]])),
  );
  return definitions.map((definition) => {
    const { kind, plural, shortNames, columns, description } = definition;
    const { status = policyStatus } = definition;
    const schema = converted[kind] ?? {};
    const spec = schema.properties?.["spec"] ?? {};
    return {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: `${plural}.${POLICY_API_GROUP}` },
      spec: {
        group: POLICY_API_GROUP,
        scope: "Namespaced",
        names: {
          kind,
          plural,
          singular: kind.toLowerCase(),
          listKind: `${kind}List`,
          shortNames,
          categories: ["gateway-api"],
        },
        versions: [{
          name: "v1alpha1",
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: columns,
          schema: {
            openAPIV3Schema: openApiSchema(
              description,
              toStructuralSchema(spec, converted),
              status,
            ),
          },
        }],
      },
    };
  });
}

function openApiSchema(
  description: string,
  spec: StructuralSchema,
  status: object,
): StructuralSchema {
  return {
    type: "object",
    description,
    required: ["spec"],
    properties: {
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: { type: "object" },
      spec,
      status,
    },
  };
}
