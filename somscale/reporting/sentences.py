"""What each index says, in one plain sentence."""

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
    "the map, per unit.",
    "topographic_function": "How many pairs of units share samples although they lie further "
    "apart on the map than δ.",
    "hits": "How many samples each unit stands for.",
    "u_matrix": "How far each code vector is from those of its neighbours on the map: ridges part "
    "groups, valleys hold them.",
    "map_embedding_accuracy": "The share of the features in which no test tells samples and code "
    "vectors apart.",
    "rms_per_feature": "How far a sample's value of one feature is, in root mean square, from the "
    "code vector's.",
    "samples_dropped": "How many samples a mask or missing values left out of all indices.",
    "features_dropped": "How many features a mask or missing values left out of all indices.",
    "codebook_davies_bouldin": "How widely the samples of a unit and of its most similar other one "
    "scatter, against the distance of their code vectors.",
    "map_distance_correlation": "Whether units that lie far apart on the map have code vectors "
    "that are far apart: how well the order of all distances agrees.",
    "unit_quantization_error": "How far the samples of a unit are, on average, from its code "
    "vector.",
    "unit_combined_error": "For the samples of a unit: distance to its code vector plus the way "
    "over the map to the second-best one, on average.",
    "unit_intra_connectivity": "The share of a unit's samples whose second-best unit is in the "
    "same cluster of units.",
    "feature_ks_distance": "How far the distribution of the code vectors departs, at most, from "
    "that of the samples, in each feature.",
    "feature_embedding_p_value": "How likely so large a difference between samples and code "
    "vectors would be if both were of one distribution, in each feature.",
    "feature_mean_difference": "How much higher the code vectors are than the samples on average, "
    "in deviations of the samples, in each feature.",
    "feature_variance_ratio": "How widely the code vectors scatter against the samples, in each "
    "feature: below 1 they are drawn together.",
    "frequency": "The share of the samples that each unit stands for.",
    "unit_zrehen_measure": "How many code vectors of other units lie between a unit's and those "
    "of its neighbours on the map; each pair counts half for either of its units.",
    "unit_topographic_product": "Whether the map's dimension fits the data around a unit: below "
    "0 the map has too few dimensions there, above 0 more than it needs.",
    "unit_simplified_silhouette": "How much nearer a unit's samples are to its code vector than "
    "to the second best, on average.",
    "unit_topographic_error": "The share of a unit's samples whose second-best unit does not lie "
    "next to it on the map.",
    "differential_topographic_function": "How many pairs of units share samples and lie exactly δ "
    "apart on the map.",
    "weighted_differential_topographic_function": "The share of the samples whose two best units "
    "lie exactly δ apart on the map.",
    "villmann_function": "For δ above 0: pairs of units that share samples but lie further apart "
    "on the map than δ; below 0: neighbours on the map that are far apart in the data.",
    "unit_distortion": "Squared distances of a unit's samples to the code vectors around it, each "
    "weighed by its neighbourhood on the map.",
    "distortion_parts": "The distortion in three parts that add up: scatter within units, code "
    "vectors off their centroids, and differences of neighbouring code vectors.",
    "codes": "The code vector of each unit: where it lies among the samples.",
    "composite": "The mean of the samples that each unit stands for.",
    "unit_q_nx": "Of the K nearest neighbours of a unit's samples, the share that are among the K "
    "nearest on the map too.",
    "unit_trustworthiness": "Whether those who are near a unit's samples on the map are near in "
    "the data: it falls with every stranger, by how far it came.",
    "unit_continuity": "Whether those who are near a unit's samples in the data are near on the "
    "map: it falls with every neighbour that is torn away, by how far it went.",
    "unit_rank_quality": "How many pairs of a unit's samples are near in either space (rank up to "
    "κs) and change by no more than κt ranks, over κs, or over what the mean sample has.",
    "bmu": "The unit whose code vector is the nearest to each sample.",
    "second_bmu": "The unit whose code vector is the second-nearest to each sample.",
    "distance": "How far each sample is from the code vector that stands for it.",
    "sample_simplified_silhouette": "How much nearer a sample is to the best code vector than to "
    "the second best; 0 means that they cannot be told apart.",
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
    "shepard_diagram": "How many pairs of samples have a distance in the data and one in the "
    "projection: the closer to a line, the better distances are kept.",
    # ranks
    "q_nx": "The share of each sample's K nearest neighbours that are still among its K nearest "
    "in the projection.",
    "r_nx": "The same share, rescaled so that 0 is a random projection and 1 a perfect one.",
    "lcmc": "The share of kept neighbours, less what a random projection keeps.",
    "b_nx": "Whether, of the neighbours that stay among the K nearest, more come nearer "
    "(positive) or move further off (negative) in the projection.",
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
    "rank_quality": "How many pairs are near in either space (rank up to κs) and change by no "
    "more than κt ranks, over κs and samples; beyond small κt it also counts pairs that leave "
    "the nearest, and can pass 1.",
    "pointwise_rank_quality": "How many of a sample's pairs are near in either space (rank up to "
    "κs) and change by no more than κt ranks, over κs, or over what the mean sample has.",
    "k_max": "The neighbourhood size at which the projection keeps the most beyond chance: what "
    "is nearer is local, what is farther is global.",
    "q_local": "How well neighbourhoods up to K_max are kept.",
    "q_global": "How well neighbourhoods beyond K_max are kept.",
    "auc_r_nx": "One number for neighbourhoods of all sizes, small ones counting the most; 0 is "
    "a random projection.",
    "mean_r_nx": "One number for neighbourhoods of all sizes, each counting the same; 0 is a "
    "random projection.",
    "u_n": "The share of neighbours that stay among the K nearest and come nearer in the "
    "projection.",
    "u_x": "The share of neighbours that stay among the K nearest and move further off in the "
    "projection.",
    "rank_regions": "How many pairs come nearer or move further off, within the K nearest (mild) "
    "or across their border (hard).",
    "coranking_matrix": "How many pairs have a rank in the data and one in the projection: on the "
    "diagonal the rank is kept.",
    "sample_q_nx": "The share of a sample's K nearest neighbours that are still among its K "
    "nearest in the projection.",
    "sample_trustworthiness": "Whether a sample's neighbours in the projection are neighbours in "
    "the data: it falls with every stranger, by how far it came.",
    "sample_continuity": "Whether a sample's neighbours in the data stay neighbours in the "
    "projection: it falls with every one that is torn away, by how far it went.",
    # clusterings
    "silhouette_score": "How much nearer a sample is to its own cluster than to the nearest other "
    "one; below 0 it is nearer to the other.",
    "centroid_silhouette": "The silhouette by distances to centroids in the place of all samples.",
    "calinski_harabasz_score": "Scatter between clusters over scatter within them, each by its "
    "degrees of freedom.",
    "davies_bouldin_score": "How wide a cluster and its most similar other one are together, "
    "against the distance of their centroids; width is the mean distance to the centroid.",
    "davies_bouldin_index": "How wide a cluster and its most similar other one are together, "
    "against the distance of their centroids; width is the root mean square distance.",
    "dunn_index": "The narrowest gap between two clusters over the widest cluster.",
    "generalized_dunn_index": "The smallest distance of two clusters over the largest diameter of "
    "one, by the chosen kinds of distance and diameter.",
    "xie_beni_index": "Mean squared distance to the centroid over the squared distance of the "
    "two nearest centroids.",
    "r_squared": "The share of the scatter that lies between clusters.",
    "within_scatter": "Squared distances of the samples to their clusters' centroids, in sum.",
    "between_scatter": "Squared distances of the clusters' centroids to the mean of all samples, "
    "one for each sample, in sum.",
    "squared_silhouette": "The silhouette by mean squared distances, to which far samples count "
    "more.",
    "cluster_mean_distance": "How far two samples of a cluster are apart, on average.",
    "cluster_diameter": "How far the two samples of a cluster that are furthest apart are.",
    "cluster_separation": "How far a cluster is from the nearest sample of another one.",
    "cluster_sizes": "How many samples each cluster has.",
    "cluster_within_scatter": "Squared distances of a cluster's samples to its centroid, in sum.",
    "cluster_radius": "How far a cluster's samples are from its centroid, in root mean square.",
    "cluster_dispersion": "How far a cluster's samples are from its centroid, on average.",
    "cluster_silhouette": "How much nearer a cluster's samples are to their own cluster than to "
    "the nearest other one, on average.",
    "cluster_distances": "How far every two clusters are apart, by the smallest, largest or mean "
    "distance of their samples.",
    "centroids": "The mean of each cluster's samples.",
    "centroid_distances": "How far the centroids of every two clusters are apart.",
    "sample_silhouette": "How much nearer a sample is to its own cluster than to the nearest "
    "other one; below 0 it is nearer to the other.",
    # against labels
    "purity": "The share of samples that are of the most frequent class of their group.",
    "clustering_accuracy": "The share of samples that agree when each group is given a class of "
    "its own in the best way.",
    "rand_score": "The share of pairs of samples on which groups and classes agree.",
    "adjusted_rand_score": "Agreement of pairs with the classes, corrected for chance: 1 is the "
    "same partition, 0 what chance gives.",
    "normalized_mutual_info_score": "What groups tell of classes, as a share of what there is to "
    "tell; many small groups raise it by chance.",
    "adjusted_mutual_info_score": "What groups tell of classes, corrected for chance: 0 is what "
    "chance gives.",
    "homogeneity_score": "Whether each group holds samples of one class only.",
    "completeness_score": "Whether all samples of a class are in one group.",
    "v_measure_score": "The (weighted) harmonic mean of homogeneity and completeness.",
    "fowlkes_mallows_score": "The geometric mean of precision and recall over pairs of samples.",
    "variation_of_information": "What is left to learn of classes given groups, and of groups "
    "given classes.",
    "bcubed_precision": "The share of a sample's group that is of the sample's class, on average "
    "over samples.",
    "bcubed_recall": "The share of a sample's class that is in the sample's group, on average over "
    "samples.",
    "bcubed_f_score": "B-cubed precision and recall in one, by their (weighted) harmonic mean.",
    "mutual_info_score": "How much groups tell of classes, in nats; more groups raise it.",
    "split_join_distance": "How many samples have to be moved to make groups out of classes, and "
    "classes out of groups.",
    "nmco": "The share of samples that are not of the most frequent class of their group.",
    "entropy_sum": "How far the most frequent class is from being the only one, over all groups: "
    "logarithms of its shares, in sum.",
    "pair_jaccard_score": "Of the pairs of samples that groups or classes keep together, the "
    "share that both do.",
    "pair_precision": "Of the pairs of samples in the same group, the share that are of the same "
    "class.",
    "pair_recall": "Of the pairs of samples of the same class, the share that are in the same "
    "group.",
    "pair_f_score": "Precision and recall over pairs of samples in one, by their (weighted) "
    "harmonic mean.",
    "wallace_clusters_to_labels": "Of the pairs of samples in the same group, the share that are "
    "of the same class.",
    "wallace_labels_to_clusters": "Of the pairs of samples of the same class, the share that are "
    "in the same group.",
    "hubert_gamma": "The correlation over pairs of samples of being in the same group with being "
    "of the same class.",
    "mirkin_metric": "How many ordered pairs of samples groups and classes disagree on.",
    "normalized_mirkin_metric": "On what share of all ordered pairs of samples groups and classes "
    "disagree.",
    "pair_counts": "How many pairs of samples groups and classes both keep together, only one "
    "of them does, or neither.",
    "unit_label_entropy": "How mixed the classes are within each unit; 0 is one class alone.",
    "label_distribution": "The share of each class among the samples of each unit.",
    "class_scatter_index": "Into how many islands of units a class falls, on average.",
    "unit_entropy": "How mixed the classes are within units, on average.",
}
"""By name of the index."""
