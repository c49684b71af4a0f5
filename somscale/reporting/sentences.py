"""What each of the most used indices says, in one plain sentence."""

from __future__ import annotations

from typing import Final

__all__ = ["SENTENCES"]

SENTENCES: Final[dict[str, str]] = {
    # maps
    "quantization_error": "How far a sample is, on average, from the code vector that stands "
    "for it.",
    "explained_variance": "The share of the samples' variance that the code vectors stand for.",
    "dead_units": "How many units stand for no sample at all.",
    "combined_error": "Distance to the code vector plus the way over the map to the second-best "
    "one: it grows with coarse codes and with folds alike.",
    "topographic_error": "How often the two code vectors nearest to a sample lie apart on the "
    "map, so that the map is folded there.",
    "topographic_product": "Whether the map's dimension fits the data: below 0 the map has too "
    "few dimensions and folds, above 0 it has more than it needs.",
    "distortion": "Squared distances to the code vectors around the best one, each weighed by "
    "its neighbourhood on the map: what training of a map at that radius makes small.",
    "hit_entropy": "How evenly the samples spread over the units; the more evenly, the larger.",
    "simplified_silhouette": "How much nearer a sample's best code vector is than the second "
    "best; 0 means that they cannot be told apart.",
    "conn_index": "How well clusters of units hold together in themselves and keep apart from "
    "each other, by the units that share samples.",
    "zrehen_measure": "How many code vectors of other units lie between those of neighbours on "
    "the map.",
    "topographic_function": "How many pairs of units share samples although they lie further "
    "apart on the map than δ.",
    "hits": "How many samples each unit stands for.",
    "u_matrix": "How far each code vector is from those of its neighbours on the map: ridges part "
    "groups, valleys hold them.",
    # distances of pairs
    "c_measure": "Distances in the data times distances in the projection, over all pairs: large "
    "where both orders agree.",
    "kruskal_shepard_error": "How much squared distances, as shares of the largest, change by "
    "the projection, over all pairs.",
    "shepard_correlation": "How linearly distances in the projection follow those in the data.",
    "shepard_rank_correlation": "How well the order of all distances is kept, whatever their "
    "scale.",
    "sammon_stress": "How much distances change, small ones counting the most.",
    "metric_stress": "How much distances change, in units of the data's distances; the scale of "
    "the projection matters.",
    # ranks
    "q_nx": "The share of each sample's K nearest neighbours that are still among its K nearest "
    "in the projection.",
    "r_nx": "The same share, rescaled so that 0 is a random projection and 1 a perfect one.",
    "lcmc": "The share of kept neighbours, less what a random projection keeps.",
    "b_nx": "Whether false neighbours come in (positive) or true ones get lost (negative) more "
    "often.",
    "trustworthiness": "Whether neighbours in the projection are neighbours in the data: it falls "
    "with every stranger that comes in, by how far it came.",
    "continuity": "Whether neighbours in the data stay neighbours in the projection: it falls with "
    "every neighbour that is torn away, by how far it went.",
    "neighborhood_preservation": "Whether neighbours in the data stay neighbours in the "
    "projection; another name of continuity.",
    "neighborhood_hit": "The share of a sample's nearest neighbours in the projection that bear "
    "its label.",
    "neighborhood_jaccard": "Shared neighbours over all neighbours of either space.",
    "mrre_intrusion": "By how much ranks change among the nearest in the projection, nearest "
    "ones counting the most.",
    "mrre_extrusion": "By how much ranks change among the nearest in the data, nearest ones "
    "counting the most.",
    "rank_quality": "The share of pairs that are near in either space (rank up to κs) and whose "
    "rank changes by no more than κt.",
    "pointwise_rank_quality": "The share of a sample's pairs that are near in either space (rank "
    "up to κs) and whose rank changes by no more than κt.",
    "k_max": "The neighbourhood size at which the projection keeps the most beyond chance: what "
    "is nearer is local, what is farther is global.",
    "q_local": "How well neighbourhoods up to K_max are kept.",
    "q_global": "How well neighbourhoods beyond K_max are kept.",
    "auc_r_nx": "One number for neighbourhoods of all sizes, small ones counting the most; 0 is "
    "a random projection.",
    "mean_r_nx": "One number for neighbourhoods of all sizes, each counting the same; 0 is a "
    "random projection.",
    # clusterings
    "silhouette_score": "How much nearer a sample is to its own cluster than to the nearest other "
    "one; below 0 it is nearer to the other.",
    "centroid_silhouette": "The silhouette by distances to centroids in the place of all samples.",
    "calinski_harabasz_score": "Scatter between clusters over scatter within them, each by its "
    "degrees of freedom.",
    "davies_bouldin_score": "How wide clusters are against their distance to the most similar "
    "other one.",
    "davies_bouldin_index": "How wide clusters are against their distance to the most similar "
    "other one.",
    "dunn_index": "The narrowest gap between two clusters over the widest cluster.",
    "xie_beni_index": "Scatter within clusters over the squared distance of the nearest two "
    "centroids.",
    "r_squared": "The share of the scatter that lies between clusters.",
    "within_scatter": "Squared distances of the samples to their clusters' centroids, in sum.",
    # against labels
    "purity": "The share of samples that are of the most frequent class of their group.",
    "clustering_accuracy": "The share of samples in the best one-to-one assignment of groups to "
    "classes.",
    "rand_score": "The share of pairs of samples on which groups and classes agree.",
    "adjusted_rand_score": "Agreement of pairs with the classes, corrected for chance: 1 is the "
    "same partition, 0 what chance gives.",
    "normalized_mutual_info_score": "What groups tell of classes, as a share of what there is to "
    "tell; many small groups raise it by chance.",
    "adjusted_mutual_info_score": "What groups tell of classes, corrected for chance: 0 is what "
    "chance gives.",
    "homogeneity_score": "Whether each group holds samples of one class only.",
    "completeness_score": "Whether all samples of a class are in one group.",
    "v_measure_score": "The harmonic mean of homogeneity and completeness.",
    "fowlkes_mallows_score": "The geometric mean of precision and recall over pairs of samples.",
    "variation_of_information": "What is left to learn of classes given groups, and of groups "
    "given classes.",
    "class_scatter_index": "Into how many islands of units a class falls, on average.",
    "unit_entropy": "How mixed the classes are within units, on average.",
}
"""By name of the index."""
